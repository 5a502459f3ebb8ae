#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "store/ctl_plan.h"
#include "store/warren_selftest.h"

/* What parent and child share. */
struct shared {
	enum err r;
	struct errinfo e;
	struct selftest_keys k;
};

typedef enum err keys_fn(struct store_conn *c, struct selftest_keys *k,
			 struct errinfo *e);

/* What the plan leaves too little of for the attempts and the burst. */
static enum err keys_room(struct store_conn *c, const char *tenant,
			  struct errinfo *e)
{
	static const struct {
		enum ctl_limit limit;
		int64_t least;
	} needs[] = {
	    {LIMIT_SANDBOXES, BURST_COUNT + 1},
	    {LIMIT_MEMORY, ATTEMPT_MEMORY_BYTES},
	    {LIMIT_PIDS, ATTEMPT_PIDS},
	};
	struct ctl_allowance a;
	enum err r = ctl_plan_allowance(c, tenant, &a, e);

	if (r != ERR_NONE)
		return r;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (a.most.of[needs[i].limit] < needs[i].least)
			a.own.of[needs[i].limit] = needs[i].least;
	return ctl_plan_allow(c, tenant, &a, e);
}

static enum err keys_make(struct store_conn *c, struct selftest_keys *k,
			  struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; i < SELFTEST_TENANTS && r == ERR_NONE; i++) {
		char token[ID_TOKEN_LEN + 1];
		struct ctl_tenant t;

		id_token(token);
		snprintf(k->name[i], sizeof(k->name[i]), "selftest-%s", token);
		r = ctl_tenant_add(c, k->name[i], &t, e);
		if (r != ERR_NONE)
			break;
		memcpy(k->id[i], t.id, sizeof(k->id[i]));
		k->made = true;
		r = keys_room(c, t.id, e);
		if (r == ERR_NONE)
			r = ctl_key_add(c, t.id, KEY_MANAGE, k->key[i], e);
	}
	return r;
}

static enum err keys_remove(struct store_conn *c, struct selftest_keys *k,
			    struct errinfo *e)
{
	enum err r = ERR_NONE;

	for (int i = 0; i < SELFTEST_TENANTS && r == ERR_NONE; i++)
		if (k->id[i][0] != '\0')
			r = ctl_tenant_remove(c, k->id[i], e);
	return r;
}

static enum err keys_in_child(struct cli *cli, keys_fn *fn,
			      struct selftest_keys *k, struct errinfo *e)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum err r;
	pid_t pid;

	if (s == MAP_FAILED)
		return err_set(e, ERR_NOMEM, errno, "shared memory");
	s->r = err_set(&s->e, ERR_STORE, 0, "the databases' child died");
	s->k = *k;
	pid = fork();
	if (pid == 0) {
		OWN(store_close) struct store_conn *c = NULL;

		r = warren_cli_open(cli, &c, &s->e);
		s->r = r == ERR_NONE ? fn(c, &s->k, &s->e) : r;
		store_close(&c);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	*k = s->k;
	r = s->r;
	if (r != ERR_NONE && e != NULL)
		*e = s->e;
	munmap(s, sizeof(*s));
	return r;
}

enum err warren_selftest_keys_make(struct cli *cli, struct selftest_keys *k,
				   struct errinfo *e)
{
	return keys_in_child(cli, keys_make, k, e);
}

enum err warren_selftest_keys_remove(struct cli *cli,
				     const struct selftest_keys *k,
				     struct errinfo *e)
{
	struct selftest_keys copy = *k;

	return keys_in_child(cli, keys_remove, &copy, e);
}
