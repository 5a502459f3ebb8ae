# What a call in a session runs: bash -c THIS bash CWD N K=V... COMMAND...
# Descriptor 3 holds the session's state and takes the new one. CWD (if any)
# and the N entries hold for this call only; the pieces of COMMAND are joined.
. /dev/fd/3 2>/dev/null
__w_old=() __w_p= __w_n=$2
if [[ -n $1 ]]; then
	__w_p=$PWD
	builtin cd -- "$1"
fi
shift 2
while ((__w_n-- > 0)); do
	__w_k=${1%%=*}
	__w_old+=("$__w_k" "${!__w_k@A}")
	export "$1"
	shift
done
printf -v __w_c %s "$@"
__w_e=exit
# How the state is saved, once. The line before the last tells whether the
# command ran to its end, and the directory. Bash keeps descriptor 3 at 10, closed for
# programs, while the command runs without it.
__w_s='
for ((__w_n = 0; __w_n < ${#__w_old[@]}; __w_n += 2)); do
	builtin unset -v "${__w_old[__w_n]}"
	builtin eval "${__w_old[__w_n + 1]}"
done 2>/dev/null
__w_to=/dev/fd/3
[[ -e $__w_to ]] || __w_to=/proc/$$/fd/10
{
	__w_p=${__w_p:-$PWD}
	builtin unset -v __w_old __w_n __w_k __w_c __w_s __w_to
	builtin declare -p
	builtin declare -f
	builtin alias -p
	builtin umask -p
	builtin printf "builtin cd / && builtin cd -- %q\n" "$__w_p"
	builtin printf "OLDPWD=%q\n" "${OLDPWD-}"
	builtin shopt -p
	builtin set +o
	builtin printf "# %s %s\n# saved\n" "$__w_e" "${__w_p//[[:cntrl:]]/?}"
} >|"$__w_to" 2>/dev/null'
builtin trap '__w_r=$?; builtin eval "${__w_s-}"; builtin exit "$__w_r"' EXIT
shopt -s expand_aliases
set --
builtin eval "$__w_c" 3>&-
__w_r=$? __w_e=end
builtin eval "${__w_s-}"
builtin exit "$__w_r"
