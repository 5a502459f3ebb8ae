# The head of a background process' shell in a session: bash -c "THIS COMMAND"
# bash CWD N K=V... It starts from the session's state (descriptor 3) and saves
# none, so the shell may become the last program of COMMAND.
. /dev/fd/3 2>/dev/null
exec 3<&-
[[ -z $1 ]] || builtin cd -- "$1"
__w_n=$2
builtin shift 2
while ((__w_n-- > 0)); do builtin export "$1"; builtin shift; done
builtin unset -v __w_n __w_p __w_r __w_e
builtin shopt -s expand_aliases
builtin set --
