module nidus.org/nidus

go 1.24
