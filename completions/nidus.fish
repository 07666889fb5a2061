# fish completion for nidus(1). SPDX-License-Identifier: MIT
# Commands, options and families are what the command itself tells, so nothing here can be outdated.

function __nidus_run
    set -l program (commandline -opc)[1]
    command $program $argv 2>/dev/null
end

function __nidus_commands
    __nidus_run help | sed -n '/^Commands:/,/^$/ s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
    printf 'help\ttell about a command\n'
end

function __nidus_options
    set -l words (commandline -opc)
    __nidus_run help $words[2] | string match -r '^  (?:-., |    )--[a-z0-9-]+.*' | while read -l line
        set -l parts (string match -rg -- '(--[a-z0-9-]+)(?: [A-Z][A-Za-z,.]*)?  +(.*)' $line)
        printf '%s\t%s\n' $parts[1] $parts[2]
    end
end

function __nidus_families
    echo auto
    __nidus_run plan -n 1000 | string match -rg '^[* ] ([a-z][a-z-]*)  '
end

function __nidus_benchmarks
    __nidus_run help bench | head -n 1 | string match -rg '^Usage: nidus bench (\S+)' | string split '|'
end

function __nidus_at
    test (count (commandline -opc)) -eq $argv[1]
end

function __nidus_after_family
    contains -- (commandline -opc)[-1] -f --family
end

function __nidus_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

complete -c nidus -n '__nidus_at 1' -f -a '(__nidus_commands)'
complete -c nidus -n '__nidus_at 2; and __nidus_is help' -f -a '(__nidus_commands)'
complete -c nidus -n '__nidus_at 2; and __nidus_is bench' -f -a '(__nidus_benchmarks)'
complete -c nidus -n '__nidus_after_family' -f -a '(__nidus_families)'
complete -c nidus -n 'not __nidus_at 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__nidus_options)'
