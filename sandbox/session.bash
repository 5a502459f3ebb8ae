# What the shells of a session are told by descriptor 3, before the session's
# state. A call, whose CWD (if any) and N entries hold for it alone and whose
# pieces of COMMAND are joined, is SESSION_CALL of keeper_session.c:
#   bash -c '. FD; eval A; eval COMMAND; eval Z' bash CWD N K=V... COMMAND...
# and takes the new state to descriptor 3. A process is SESSION_PROCESS:
#   bash -c '. FD; eval B COMMAND' bash CWD N K=V...
# It saves nothing, so its shell may become the last program of COMMAND.
# None of it shows in the list of processes.
builtin shopt -s expand_aliases
__w_d=$BASHOPTS:$SHELLOPTS
__w_a='
__w_old=() __w_p= __w_n=$2 __w_e=exit
if [[ -n $1 ]]; then
	__w_p=$PWD
	builtin cd -- "$1"
fi
builtin shift 2
while ((__w_n-- > 0)); do
	__w_k=${1%%=*}
	__w_old+=("$__w_k")
	if [[ -v $__w_k ]]; then
		__w_old+=("${!__w_k@A}")
	else
		__w_old+=("")
	fi
	builtin export "$1"
	builtin shift
done
builtin printf -v __w_c %s "$@"
builtin trap "{ __w_r=\$?; builtin eval \"\${__w_s-}\"
builtin exit \"\${__w_r-\$5}\"; } 2>/dev/null" EXIT
builtin set --
'
# How the state is saved, once. Bash keeps descriptor 3 at 10, closed for
# programs, while the command runs without it. The line before the last tells
# whether the command ran to its end, and the directory.
__w_s='
for ((__w_n = 0; __w_n < ${#__w_old[@]}; __w_n += 2)); do
	builtin unset -v "${__w_old[__w_n]}"
	builtin eval "${__w_old[__w_n + 1]}"
done 2>/dev/null
__w_to=/dev/fd/3
[[ -e $__w_to ]] || __w_to=/proc/$$/fd/10
builtin set -- "$__w_e" "${__w_p:-$PWD}" "$__w_to" "$__w_d" "$__w_r"
builtin unset -v "${!__w_@}"
{
	builtin declare -p
	builtin declare -f
	builtin alias -p
	builtin umask -p
	builtin printf "builtin cd / && builtin cd -- %q\n" "$2"
	builtin printf "OLDPWD=%q\n" "${OLDPWD-}"
	if [[ $BASHOPTS:$SHELLOPTS != "$4" ]]; then
		builtin shopt -p
		builtin set +o
	fi
	builtin printf "# %s %s\n# saved\n" "$1" "${2//[[:cntrl:]]/?}"
} >|"$3" 2>/dev/null'
__w_z='
__w_r=$? __w_e=end
builtin eval "${__w_s-}"
builtin exit "$5"'
__w_b='
exec 3<&-
[[ -z $1 ]] || builtin cd -- "$1"
__w_n=$2
builtin shift 2
while ((__w_n-- > 0)); do
	builtin export "$1"
	builtin shift
done
builtin unset -v "${!__w_@}"
builtin set --
'
