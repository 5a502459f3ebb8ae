# The kernel's side within the shell that runs the cells: an interactive bash
# without a terminal, since an interactive one outlives an interrupt and
# ${x?}. Its first line of input is: source driver.bash KERNEL_PID PROGRAM AT.
#
# The kernel's files are named by /proc, so no descriptor of it is in the way
# of the tenant's. What is told is one line that ends with a 0:
#   ready VERSION
#   begun N how text      how: whole, pieces, or why it cannot run
#   on N             the cell has been read and runs
#   done N status aside line command
exec 2>&9 9>&-
PS1= PS2=
builtin set +o history +H -E
builtin shopt -u checkwinsize
builtin unset -v HISTFILE PROMPT_COMMAND MAILCHECK TMOUT
__w_k=/proc/$1/fd __w_exe=$2 __w_at=$3 __w_n=0 __w_old=()

# The state goes to the kernel's pipe, whatever the tenant's noclobber says.
__w_tell()
{
	builtin printf '%s\0' "$*" >|"$__w_k/7"
}

# Values of a language without any: display KIND [TEXT...], else its input.
display()
{
	"$__w_exe" --display "$__w_at" "$__w_n" "$@"
}

# Where a command failed, for the traceback. A failure under set -e ends the
# cell and not the shell: as an interrupt does, but silently.
builtin trap '__w_s=$? __w_x=$LINENO
[[ $BASH_COMMAND == "source $__w_k/"* ]] ||
	__w_l=$__w_x __w_c=$BASH_COMMAND
[[ $- != *e* || $BASHPID != $$ || -z ${__w_on-} ]] || {
	__w_e=$__w_s
	exec {__w_2}>&2 2>/dev/null
	builtin kill -INT $$
}' ERR

# Whether the cell can be parsed, all of it, before anything runs. One that
# cannot be one command, as it is empty, or long, or changes how bash reads
# what follows, is run piece by piece.
__w_parse()
{
	builtin local text=

	if [[ $1 == whole ]]; then
		IFS= builtin read -r -d '' text <"$__w_k/4"
		builtin eval "__w_f() $text" 2>|"$__w_k/6" && {
			builtin unset -f __w_f
			__w_how=whole
			return
		}
	fi
	if "$BASH" -n "$__w_k/5" 2>/dev/null ||
	   "$BASH" -O extglob -n "$__w_k/5" 2>|"$__w_k/6"; then
		__w_how=pieces
	else
		__w_how=syntax
	fi
}

# N whole|pieces CWD [K=V]...: what holds for this run alone.
__w_begin()
{
	if [[ $1 == "$__w_n" ]]; then
		__w_tell begun "$1" "$__w_how"
		return
	fi
	__w_n=$1 __w_how= __w_e= __w_l= __w_c= __w_s= __w_2= __w_old=() __w_pwd=
	__w_parse "$2"
	if [[ $__w_how != syntax && -n $3 ]]; then
		__w_pwd=$PWD
		builtin cd -- "$3" 2>|"$__w_k/6" || __w_how=cwd __w_pwd=
	fi
	if [[ $__w_how != syntax && $__w_how != cwd ]]; then
		builtin shift 3
		while (($# > 0)); do
			__w_v=${1%%=*}
			__w_old+=("$__w_v")
			if [[ -v $__w_v ]]; then
				__w_v=${!__w_v@A}
				__w_old+=("${__w_v/#declare /declare -g }")
			else
				__w_old+=("")
			fi
			builtin export "$1"
			builtin shift
		done
	fi
	__w_on=1
	__w_tell begun "$__w_n" "$__w_how"
}

__w_go()
{
	__w_tell on "$__w_n" cell
}

# N STATUS: the run is over, or was interrupted; once more does no harm.
__w_done()
{
	__w_on=
	if [[ $1 == "$__w_n" ]]; then
		while ((${#__w_old[@]} > 0)); do
			builtin unset -v "${__w_old[0]}"
			builtin eval "${__w_old[1]}"
			__w_old=("${__w_old[@]:2}")
		done
		[[ -z $__w_pwd ]] || builtin cd -- "$__w_pwd"
		__w_pwd=
	fi
	[[ ${__w_s-} == "${__w_e:-$2}" ]] || __w_l=
	__w_tell done "$1" "${__w_e:-$2}" "${__w_2:-0}" "${__w_l:-0}" \
		"${__w_c:0:200}"
}

# The stderr that a failure under set -e put aside.
__w_back()
{
	[[ -z ${__w_2-} ]] || exec 2>&"$__w_2" {__w_2}>&-
	__w_2=
}

__w_tell ready "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}"
