#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/init_clone.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/* execvpe() copies the list of words onto it for a script without a first
 * line: 512 KiB at most. What is not used takes no memory. */
#define STACK_BYTES (1U << 20)

/* clone3() onto another stack, which libcs leave to assembler. */
static pid_t clone_shared(struct clone_args *a, void (*run)(void *), void *arg)
{
	static _Alignas(16) char stack[STACK_BYTES];
	long pid;

	a->flags |= CLONE_VM;
	a->stack = (__u64)(uintptr_t)stack;
	a->stack_size = STACK_BYTES;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "movq %[arg], %%rdi\n\t"
			 "callq *%[run]\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(pid)
			 : "0"((long)SYS_clone3), "D"(a),
			   "S"(sizeof(*a)), [run] "r"(run), [arg] "r"(arg)
			 : "rcx", "r11", "memory", "cc");
	if (pid >= 0)
		return (pid_t)pid;
	errno = (int)-pid;
	return -1;
}
#else
#define clone_shared clone_copied
#endif

static pid_t clone_copied(struct clone_args *a, void (*run)(void *), void *arg)
{
	pid_t pid = (pid_t)syscall(SYS_clone3, a, sizeof(*a));

	if (pid == 0)
		run(arg);
	return pid;
}

pid_t init_clone(int leaf, void (*run)(void *arg), void *arg, bool exec)
{
	struct clone_args a = {
	    .flags = CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
	    .exit_signal = SIGCHLD,
	    .cgroup = (__u64)leaf,
	};

	return exec ? clone_shared(&a, run, arg) : clone_copied(&a, run, arg);
}
