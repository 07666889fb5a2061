printf '123456\npassword\nqwerty\npassword\n' >leaked.txt
"$PROGRAM" leaked.txt leaked.nidus || exit
printf '123456\nwhite heron, 4 eggs\nqwerty\n' | "$PROGRAM" leaked.nidus
"$PROGRAM" missing.nidus </dev/null 2>/dev/null || echo "no filter, no answers"
