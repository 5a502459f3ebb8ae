#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "sandbox/caps.h"
#include "sandbox/init_confine.h"

#define CAP_LAST 63

static bool caps_set(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];

	for (int i = 0; i < 2; i++) {
		d[i].permitted = (uint32_t)(permitted >> (32 * i));
		d[i].effective = d[i].permitted;
		d[i].inheritable = (uint32_t)(inheritable >> (32 * i));
	}
	return syscall(SYS_capset, &h, d) == 0;
}

/* Ambient ones are among the inheritable, by the kernel: there are none. */
static bool caps_are(uint64_t want)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d) != 0)
		return false;
	errno = EPERM;
	for (int i = 0; i < 2; i++) {
		uint32_t w = (uint32_t)(want >> (32 * i));

		if (d[i].permitted != w || d[i].effective != w)
			return false;
		if (d[i].inheritable != 0)
			return false;
	}
	errno = 0;
	return true;
}

/*
 * Nothing but ${keep} is in the bounding set: each is read, and read again if
 * it had to be dropped, which init's children need for few.
 */
static bool caps_bound(uint64_t keep)
{
	for (int c = 0; c <= CAP_LAST; c++) {
		bool kept = (keep & CAP_BIT(c)) != 0;
		int bounded = prctl(PR_CAPBSET_READ, c, 0, 0, 0);

		if (bounded < 0)
			break; /* past the kernel's last capability */
		if (bounded == 1 && !kept) {
			if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0)
				return false;
			bounded = prctl(PR_CAPBSET_READ, c, 0, 0, 0);
		}
		errno = EPERM;
		if (bounded != kept)
			return false;
	}
	errno = 0;
	return true;
}

#define SYS_NR offsetof(struct seccomp_data, nr)
#define ARG0_LOW (offsetof(struct seccomp_data, args))
#define ARG1_LOW (offsetof(struct seccomp_data, args) + 8)
#define TYPE_MASK 0xf /* of a socket; above are flags */

/*
 * What init may do and its children may not: clone3 (its flags cannot be
 * filtered; libcs fall back on ENOSYS), ioctls that type into a terminal, and
 * internet sockets of rare types: SOCK_PACKET is another family by that name,
 * and protocol 0 of type 6 loads DCCP. Of each the kernel reads the low 32
 * bits only.
 */
static bool refuse_calls(void)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SYS_NR),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 12, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 3, 9),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG1_LOW),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 9, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 8, 6),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG0_LOW),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG1_LOW),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SOCK_RAW, 3, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESOCKTNOSUPPORT),
	};
	struct sock_fprog p = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) == 0;
}

bool init_confine_child(uint8_t user, bool fs)
{
	bool root = user == INIT_USER_ROOT;
	uid_t id = root ? 0 : INIT_SANDBOX_UID, r, e, s;
	uint64_t keep = root ? CAPS_ROOT : 0;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return false;
	if (!caps_bound(keep))
		return false;
	if (setgroups(0, NULL) != 0 || setresgid(id, id, id) != 0 ||
	    setresuid(id, id, id) != 0)
		return false;
	if (!caps_set(keep, 0) || !caps_are(keep))
		return false;
	if (getresuid(&r, &e, &s) != 0 || r != id || e != id || s != id)
		return false;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return false;
	/* The file executor runs our own code only; it makes no children. */
	return fs || refuse_calls();
}
