#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/conf.h"
#include "base/id.h"
#include "base/log.h"
#include "base/own.h"
#include "fcgi/code_fork.h"
#include "fcgi/code_spare.h"

#define SPARE_MOST 8U /* of one language in one sandbox */
#define SPARE_RULES 64
#define SPARE_JOBS 64
/* The context that took one is about to run its first code. */
#define SPARE_LATER_NS 20000000L

struct spare_rule {
	char image[CTL_SANDBOX_IMAGE_MAX + 1]; /* "": any */
	const struct code_lang *lang;          /* NULL: of "when" */
	uint32_t n;                            /* of "when": 1 is "start" */
};

struct spare_job {
	id_sandbox_t id;
	char image[CTL_SANDBOX_IMAGE_MAX + 1];
	char user[CTL_SANDBOX_USER_MAX + 1];
	const struct code_lang *lang;
	uint32_t n;
};

static struct {
	const struct worker *worker;
	struct spare_rule rules[SPARE_RULES];
	size_t nrules;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct spare_job jobs[SPARE_JOBS];
	size_t njobs;
	bool thread;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

/* ---- how many ---- */

static bool line_when(const char *value, struct spare_rule *rule,
		      char wrong[CONF_WRONG_MAX])
{
	rule->n = strcmp(value, "start") == 0;
	return rule->n == 1 || strcmp(value, "use") == 0 ||
	       conf_wrong(wrong, "= \"%.40s\" is neither start nor use", value);
}

static bool line_number(const char *name, const char *value,
			struct spare_rule *rule, char wrong[CONF_WRONG_MAX])
{
	unsigned long n;

	rule->lang = code_lang_find(name);
	if (rule->lang == NULL)
		return conf_wrong(wrong, "is no language");
	if (!conf_number(value, 0, SPARE_MOST, &n))
		return conf_wrong(wrong, "= \"%.40s\" is no number from 0 to 8",
				  value);
	rule->n = (uint32_t)n;
	return true;
}

static bool take(void *arg, const char *section, const char *name,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	struct spare_rule *rule = &spare.rules[spare.nrules];
	bool ok;

	(void)arg;
	if (strcmp(section, "pool") != 0 && strncmp(section, "pool.", 5) != 0)
		return true;
	*rule = (struct spare_rule){.n = 0};
	ok = strcmp(name, "when") == 0 ? line_when(value, rule, wrong)
				       : line_number(name, value, rule, wrong);
	if (!ok)
		return false;
	if (spare.nrules == SPARE_RULES - 1)
		return conf_wrong(wrong, "is one line too many");
	if (section[4] == '.')
		snprintf(rule->image, sizeof(rule->image), "%s", section + 5);
	spare.nrules++;
	return true;
}

enum err code_spare_open(const struct worker *w, struct errinfo *e)
{
	enum err r;

	spare.worker = w;
	spare.nrules = 0;
	r = conf_read(w->data_dir, take, NULL, e);
	if (r != ERR_NONE)
		spare.nrules = 0;
	return r;
}

/* The image's own rule goes before one for all. Without ${lang}, whether they
 * are made as a sandbox starts. */
static uint32_t spare_size(const char *image, const struct code_lang *lang)
{
	uint32_t any = 0;

	for (size_t i = 0; i < spare.nrules; i++) {
		const struct spare_rule *rule = &spare.rules[i];

		if (rule->lang != lang)
			continue;
		if (strcmp(rule->image, image) == 0)
			return rule->n;
		if (rule->image[0] == '\0')
			any = rule->n;
	}
	return any;
}

enum err code_spare_claim(struct link *l, const struct keeper_start *s,
			  const struct code_lang *lang, uint32_t *pid,
			  struct errinfo *e)
{
	struct keeper_start claim = *s;

	if (spare_size(l->rq->sandbox.image, lang) == 0)
		return err_set(e, ERR_NOT_FOUND, 0, "no spare kernels");
	claim.flags = KF_CLAIM;
	return link_start(l, &claim, NULL, 0, pid, e);
}

/* ---- making them ---- */

static enum err spare_make(struct link *l, const struct spare_job *job,
			   struct errinfo *e)
{
	struct keeper_start s = {
	    .kind = EXEC_KERNEL,
	    .flags = KF_SPARE,
	    .grace_ms = job->n,
	    .ring_bytes = RING_BYTES_DEFAULT,
	    .user = job->user,
	    .cwd = "",
	    .argv = job->lang->argv,
	    .argc = job->lang->argc,
	    .stdin_data = "",
	    .session = "",
	};
	id_text_t id;
	uint32_t pid;

	id_stamped("spare", id);
	s.id = id;
	return code_fork(l, &s, job->lang->name, &pid, e);
}

/* Until the keeper says that there are enough. */
static void spare_do(const struct spare_job *job)
{
	struct request rq = {
	    .worker = spare.worker, .client_fd = -1, .is_long = true};
	OWN(link_close) struct link l = LINK_INIT;
	struct errinfo e;
	enum err r;

	memcpy(rq.sandbox.id, job->id, sizeof(rq.sandbox.id));
	memcpy(rq.sandbox.image, job->image, sizeof(rq.sandbox.image));
	l.rq = &rq;
	l.watch = false;
	wire_rx_init(&l.rx, KEEPER_PAYLOAD_MAX);
	r = keeper_connect(rq.worker->run_dir, rq.sandbox.id, &l.fd, &e);
	for (uint32_t i = 0; r == ERR_NONE && i < job->n; i++)
		r = spare_make(&l, job, &e);
	if (r != ERR_NONE && r != ERR_LIMIT && r != ERR_NOT_FOUND &&
	    r != ERR_GONE)
		log_line(LOG_INFO, "no spare kernel in %s: %s: %s", job->id,
			 err_name(r), e.text);
}

static void *spare_thread(void *arg)
{
	static const struct timespec later = {.tv_nsec = SPARE_LATER_NS};

	(void)arg;
	for (;;) {
		struct spare_job job;

		pthread_mutex_lock(&spare.lock);
		while (spare.njobs == 0)
			pthread_cond_wait(&spare.more, &spare.lock);
		pthread_mutex_unlock(&spare.lock);
		nanosleep(&later, NULL);
		pthread_mutex_lock(&spare.lock);
		job = spare.jobs[0];
		spare.njobs--;
		memmove(spare.jobs, spare.jobs + 1, spare.njobs * sizeof(job));
		pthread_mutex_unlock(&spare.lock);
		spare_do(&job);
	}
	return NULL;
}

/* Lock held. */
static bool spare_thread_is(void)
{
	pthread_t t;

	if (!spare.thread &&
	    pthread_create(&t, NULL, spare_thread, NULL) == 0) {
		pthread_detach(t);
		spare.thread = true;
	}
	return spare.thread;
}

void code_spare_fill(const struct request *rq, const struct code_lang *lang)
{
	struct spare_job job = {.lang = lang,
				.n = spare_size(rq->sandbox.image, lang)};
	bool there = false;

	if (job.n == 0)
		return;
	memcpy(job.id, rq->sandbox.id, sizeof(job.id));
	memcpy(job.image, rq->sandbox.image, sizeof(job.image));
	memcpy(job.user, rq->sandbox.user, sizeof(job.user));
	pthread_mutex_lock(&spare.lock);
	for (size_t i = 0; i < spare.njobs; i++)
		there = there || (spare.jobs[i].lang == lang &&
				  strcmp(spare.jobs[i].id, job.id) == 0);
	if (!there && spare.njobs < SPARE_JOBS && spare_thread_is()) {
		spare.jobs[spare.njobs++] = job;
		pthread_cond_signal(&spare.more);
	}
	pthread_mutex_unlock(&spare.lock);
}

void code_spare_started(const struct request *rq)
{
	if (spare_size(rq->sandbox.image, NULL) == 0)
		return;
	for (size_t i = 0; i < spare.nrules; i++)
		if (spare.rules[i].lang != NULL)
			code_spare_fill(rq, spare.rules[i].lang);
}
