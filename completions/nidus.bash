# bash completion for nidus(1). SPDX-License-Identifier: MIT
# Commands, options and families are what the command itself tells, so nothing here can be outdated.

_nidus_commands() {
	"$1" help 2>/dev/null | sed -n '/^Commands:/,/^$/ s/^  \([a-z]\{1,\}\) .*/\1/p'
	echo help
}

# _nidus_options NIDUS COMMAND: its options, those with a value with a trailing "=".
_nidus_options() {
	"$1" help "$2" 2>/dev/null | sed -n '/^Options:/,/^$/ {
		s/^  \(-., \|    \)\(--[a-z0-9-]*\) [A-Z].*/\2=/p; t
		s/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p
	}'
}

_nidus_families() {
	echo auto
	"$1" plan -n 1000 2>/dev/null | sed -n '2,$ s/^[* ] \([a-z][a-z-]*\)  .*/\1/p'
}

_nidus() {
	local nidus=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} words=""

	[[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $current == = ]] && current=""
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words="$(_nidus_commands "$nidus") --help --version"
	elif [[ $command == help ]]; then
		words=$(_nidus_commands "$nidus")
	elif [[ $before == -f || $before == --family ]]; then
		words=$(_nidus_families "$nidus")
	elif [[ $current == -* ]]; then
		words=$(_nidus_options "$nidus" "$command")
		compopt -o nospace 2>/dev/null
	elif [[ $command == bench ]] && ((COMP_CWORD == 2)); then
		words=$("$nidus" help bench 2>/dev/null | sed -n '1 { s/^Usage: nidus bench //; s/ .*//; s/|/ /g; p; }')
	fi
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		compopt -o filenames 2>/dev/null
	fi
	# A word that is complete ends with a blank; after "=" its value follows.
	if ((${#COMPREPLY[@]} == 1)) && [[ $current == -* && ${COMPREPLY[0]} != *= ]]; then
		COMPREPLY[0]+=" "
	fi
}

complete -F _nidus nidus
