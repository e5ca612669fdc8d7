/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree/treecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/tree/treenode_script.h"
#include "cli/tree/treepart.h"

enum { TREE_TICK_MS = 100, TREE_RATE_MS = 1000, TREE_LONGEST = 120 << 10 };

/* ---- One host -------------------------------------------------------------------------- */

void tree_have(struct tree_host *h, uint64_t have)
{
	struct tree_node *n = &h->tree->nodes[h->index];

	h->tree->f->progress.moved += have - n->have;
	n->have = have;
	h->o->moved = have;
}

/* News from a host may overtake each other, so only more is news. */
void tree_at(struct tree_host *h, uint64_t have)
{
	struct tree *t = h->tree;
	struct tree_node *n = &t->nodes[h->index];

	if (have > t->size || h->stopping || (n->have >= t->size && t->size))
		return;
	if (have > n->have) {
		h->moved_at = clock_ms();
		/* It is connected, so its key has done its work. */
		if (h->opened >= 0 && h->pulling) {
			tree_say(&t->hosts[h->opened], "deny %d", h->index);
			h->opened = TREE_NONE;
		}
		tree_have(h, have);
	}
	if (have < t->size || !n->ready)
		return;
	t->dirty = true;
	if (!h->summed && !h->checking_old)
		tree_say(h, "sum new");
	h->summed |= !h->checking_old;
}

static bool tree_unchanged(const struct tree *t)
{
	struct stat st;

	return fstat(t->fd, &st) == 0 && st.st_size == t->st.st_size && st.st_mtim.tv_sec == t->st.st_mtim.tv_sec &&
		st.st_mtim.tv_nsec == t->st.st_mtim.tv_nsec;
}

/* The file that was there has the content already, or is replaced. */
static void tree_check_old(struct tree_host *h)
{
	struct tree *t = h->tree;
	struct tree_node *n = &t->nodes[h->index];
	bool same = strcmp(h->sum, t->hash.hex) == 0;

	h->checking_old = n->busy = false;
	h->sum[0] = '\0';
	if (!same) {
		if (n->have == t->size)
			tree_say(h, "sum new");
		h->summed = n->have == t->size;
		return;
	}
	h->had = h->landed = true;
	tree_say(h, "there");
	t->f->progress.moved += t->size - n->have;
	n->have = t->size;
	h->o->moved = 0;
}

void tree_check(struct tree_host *h)
{
	struct tree *t = h->tree;
	struct tree_node *n = &t->nodes[h->index];

	if (!*h->sum || !*t->hash.hex || h->landing || h->text || h->feed)
		return;
	t->dirty = true;
	if (!tree_unchanged(t)) {
		tree_fail(h, PSSH_ELOCAL, "'%s' changed while it was copied; copy it again", t->order->from);
	} else if (h->checking_old) {
		tree_check_old(h);
	} else if (strcmp(h->sum, t->hash.hex) == 0) {
		h->landing = true;
		tree_say(h, "land");
	} else if (h->again && n->direct) {
		tree_fail(h, PSSH_ECHECKSUM, "the copy of '%s' on the host differs from its source", t->order->from);
	} else {
		/* It may be its parents' fault, so the last try is from here. */
		if (h->again && !n->direct)
			snprintf(h->why, sizeof h->why, "what they sent differs from the source");
		n->direct |= h->again;
		h->again = true;
		h->summed = false;
		h->sum[0] = '\0';
		if (h->last >= 0)
			tree_blame(n, h->last);
		tree_have(h, 0);
		h->stopping = n->busy = true;
		tree_say(h, "reset");
	}
}

/* Its children look for another parent. */
static void tree_ended(struct tree_host *h)
{
	struct tree *t = h->tree;
	struct outcome *o = h->o;
	bool ok = outcome_ok(o);

	h->ended = true;
	t->nodes[h->index].ready = false;
	t->dirty = true;
	for (size_t i = 0; i < t->count; i++) {
		if (t->hosts[i].wanted == h->index) {
			t->hosts[i].wanted = TREE_NONE;
			t->nodes[i].busy = false;
		}
		if (t->hosts[i].opened == h->index)
			t->hosts[i].opened = TREE_NONE;
	}
	if (h->landed && !t->f->asked) {
		free(o->text);
		o->text = NULL;
		o->state = OUTCOME_EXIT;
		o->status = 0;
		t->f->progress.failed -= !ok;
	} else if (h->text || ok || (o->state == OUTCOME_EXIT && !t->f->asked)) {
		free(o->text);
		o->text = h->text ? h->text : strdup(*h->said ? h->said : "the host's shell ended");
		h->text = NULL;
		o->state = OUTCOME_ERROR;
		o->status = h->code ? h->code : PSSH_EREMOTE;
		t->f->progress.failed += ok;
	}
	if (t->order->tell)
		t->order->tell(t->order->arg, o);
}

/* ---- Who takes it from whom ------------------------------------------------------------ */

static void tree_measure(struct tree *t, int64_t now)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tree_host *h = &t->hosts[i];
		struct tree_node *n = &t->nodes[i];

		n->still_ms = now - h->moved_at;
		/* A host that hangs does not answer either. */
		if (h->wanted >= 0 && now - h->asked_at >= TREE_STALL_MS) {
			tree_blame(n, h->wanted);
			snprintf(h->why, sizeof h->why, "another host does not answer");
			h->wanted = TREE_NONE;
			n->busy = false;
			t->dirty = true;
		}
		if (h->pause_until && now >= h->pause_until) {
			h->pause_until = 0;
			t->dirty = true;
		}
		if (now - h->rate_at < TREE_RATE_MS)
			continue;
		n->rate = n->have > h->rate_have ? (n->have - h->rate_have) * 1000 / (uint64_t)(now - h->rate_at) : 0;
		h->rate_at = now;
		h->rate_have = n->have;
		t->dirty = true;
	}
}

static void tree_follow(struct tree *t, int i)
{
	struct tree_host *h = &t->hosts[i];
	struct tree_node *n = &t->nodes[i];

	if (!n->ready || n->busy || h->text || n->next == n->parent || n->have >= t->size || h->pause_until)
		return;
	if (n->parent == TREE_SOURCE) {
		n->busy = true;
		feed_stop(h);
	} else if (n->next == TREE_SOURCE && n->parent == TREE_NONE) {
		n->parent = TREE_SOURCE;
		h->moved_at = clock_ms();
		if (feed_begin(h) != 0)
			tree_fail(h, PSSH_EREMOTE, "%s", pssh_error(t->f->connect->fleet));
	} else if (n->next == TREE_SOURCE) {
		h->stopping = n->busy = true;
		tree_say(h, "stop");
	} else if (n->next >= 0) {
		n->busy = true;
		h->wanted = n->next;
		h->asked_at = clock_ms();
		tree_say(&t->hosts[n->next], "allow %d %s %s", i, h->address, h->key);
	}
}

static void tree_decide(struct tree *t)
{
	int64_t now = clock_ms();
	bool left = false;

	treehash_step(&t->hash);
	tree_measure(t, now);
	for (size_t i = 0; i < t->count; i++) {
		struct tree_host *h = &t->hosts[i];

		if (h->ended)
			continue;
		if (t->hash.failed)
			tree_fail(h, PSSH_ELOCAL, "cannot read '%s'", t->order->from);
		tree_check(h);
		left |= !h->landed && !h->text;
	}
	if (t->f->asked || !t->dirty || t->finished)
		return;
	t->dirty = false;
	tree_plan(t->nodes, t->count, t->size);
	for (size_t i = 0; i < t->count; i++)
		tree_follow(t, (int)i);
	if (left)
		return;
	t->finished = true;
	for (size_t i = 0; i < t->count; i++)
		if (!t->hosts[i].text)
			tree_say(&t->hosts[i], "end");
}

/*
 * The mark of a host's part file, in the form that later copies recognize as a leftover. With --resume it is the
 * same for the same host and source; else by chance. Hosts that share a disk each have their own.
 */
static void tree_mark(const struct tree *t, size_t i, char room[32])
{
	uint64_t mark = hash_more(HASH_BEGIN, t->id, strlen(t->id));
	const char *name = t->f->hosts[i].name;

	if (t->order->resume) {
		mark = hash_more(HASH_BEGIN, &t->st.st_mtim.tv_sec, sizeof t->st.st_mtim.tv_sec);
		mark = hash_more(mark, &t->st.st_mtim.tv_nsec, sizeof t->st.st_mtim.tv_nsec);
		mark = hash_more(mark, &t->size, sizeof t->size);
	}
	mark = hash_more(mark, name, strlen(name));
	if (t->order->resume)
		snprintf(room, 32, "%016llx", (unsigned long long)mark);
	else
		snprintf(room, 32, "%08x%016llx", 0u, (unsigned long long)mark);
}

static void tree_greet(struct tree_host *h)
{
	char mark[32];

	tree_mark(h->tree, (size_t)h->index, mark);
	pssh_task_write(h->tree->f->task, h->o->host, treenode_script, sizeof treenode_script - 1);
	tree_say(h, "%d %s", h->index, mark);
}

/* ---- Events ---------------------------------------------------------------------------- */

static void tree_event(struct tree *t, const struct pssh_event *ev, struct outcome *o)
{
	struct tree_host *h = o && o->index < t->count ? &t->hosts[o->index] : NULL;

	if (ev->task && ev->task != t->f->task)
		feed_event(t, ev);
	else if (!h || h->ended)
		return;
	else if (ev->type == PSSH_EV_STARTED)
		tree_greet(h);
	else if (ev->type == PSSH_EV_STDOUT)
		tree_hear(h, ev->data, ev->len);
	else if (ev->type == PSSH_EV_STDERR)
		tree_line(h->said, sizeof h->said, ev->data, ev->len);
	else if (ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_ERROR || ev->type == PSSH_EV_SIGNAL)
		tree_ended(h);
}

static void tree_loop(struct tree *t)
{
	const struct pssh_event *ev;
	enum fanout_turn turn;
	struct outcome *o;
	uint64_t ticks;

	while ((turn = fanout_next(t->f, &ev, &o)) != FANOUT_DONE) {
		if (turn == FANOUT_EVENT)
			tree_event(t, ev, o);
		if (turn == FANOUT_WATCH && read(t->timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
			return;
		if (turn == FANOUT_WATCH || (t->dirty && clock_ms() - t->planned_at >= TREE_TICK_MS / 4)) {
			t->planned_at = clock_ms();
			tree_decide(t);
		}
		for (size_t i = 0; t->f->asked && i < t->count; i++)
			if (t->hosts[i].feed && !t->hosts[i].feed_over) {
				t->hosts[i].feed_over = true;
				pssh_task_stop(t->hosts[i].feed);
			}
	}
}

/* ---- Beginning and end ----------------------------------------------------------------- */

/*
 * The person's shell there may be of any kind, so it gets one line, and sh reads the script after it. By dd: some kinds
 * of head read more of a pipe than they print.
 */
static int tree_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct tree *t = arg;
	struct pssh *fleet = f->connect->fleet;
	const char *slash = strrchr(t->order->from, '/');
	struct pssh_task *task;
	struct buf b;
	int rc;

	buf_init(&b, TREE_LONGEST);
	rc = buf_addf(&b, "exec sh -c 's=$(dd bs=1 count=%zu 2>/dev/null) && eval \"$s\"' nanopod-tree %s ",
		     sizeof treenode_script - 1, t->id) ||
		str_quote_sh(&b, t->order->to) || buf_addc(&b, ' ') ||
		str_quote_sh(&b, slash ? slash + 1 : t->order->from) ||
		buf_addf(&b, " %llu %o ", (unsigned long long)t->size, (unsigned)t->st.st_mode & 0777) ||
		(t->order->preserve ? buf_addf(&b, "%lld.%09ld", (long long)t->st.st_mtim.tv_sec, t->st.st_mtim.tv_nsec)
				    : buf_adds(&b, "''")) ||
		buf_addf(&b, " %d", t->order->resume);
	if (rc)
		command_nomem();
	rc = pssh_exec(fleet, b.data, &task);
	buf_release(&b);
	if (!rc && t->order->limit_ms)
		rc = pssh_task_set_deadline(task, t->order->limit_ms);
	rc = rc ? rc : pssh_task_open_input(task);
	if (rc)
		return print_fail(f->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	*out = task;
	return STATUS_OK;
}

static int tree_open(struct tree *t)
{
	struct nanopod *np = t->np;
	struct itimerspec every = {
		.it_interval.tv_nsec = TREE_TICK_MS * 1000000L,
		.it_value.tv_nsec = TREE_TICK_MS * 1000000L,
	};
	unsigned char chance[8];

	t->fd = open(t->order->from, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0 || fstat(t->fd, &t->st) < 0)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot read '%s': %s", t->order->from, strerror(errno));
	if (!S_ISREG(t->st.st_mode))
		return print_fail_field(np, STATUS_USAGE, "--tree", "pack a directory with 'tar' first",
			"'%s' is not a plain file", t->order->from);
	t->size = (uint64_t)t->st.st_size;
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	t->block = malloc(TREE_BLOCK);
	if (!t->block)
		command_nomem();
	if (t->timer < 0 || timerfd_settime(t->timer, 0, &every, NULL) < 0 ||
		getrandom(chance, sizeof chance, 0) != sizeof chance || treehash_begin(&t->hash, t->fd, t->size) != 0)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot begin the copy: %s", strerror(errno));
	for (size_t i = 0; i < sizeof chance; i++)
		snprintf(t->id + 2 * i, 3, "%02x", chance[i]);
	return STATUS_OK;
}

static void tree_hosts(struct tree *t)
{
	struct fanout *f = t->f;

	t->count = f->count;
	t->nodes = calloc(t->count + 1, sizeof *t->nodes);
	t->hosts = calloc(t->count + 1, sizeof *t->hosts);
	if (!t->nodes || !t->hosts)
		command_nomem();
	for (size_t i = 0; i < t->count; i++) {
		t->nodes[i] = (struct tree_node){ .parent = TREE_NONE };
		t->hosts[i] = (struct tree_host){ .tree = t,
			.o = &f->hosts[i],
			.index = (int)i,
			.wanted = TREE_NONE,
			.last = TREE_NONE,
			.opened = TREE_NONE,
			.ended = outcome_ended(&f->hosts[i]) };
		if (t->hosts[i].ended)
			continue;
		f->hosts[i].size = t->size;
		f->progress.size += t->size;
	}
	f->progress.bytes = true;
}

static void tree_close(struct tree *t)
{
	treehash_end(&t->hash);
	if (t->fd >= 0)
		close(t->fd);
	if (t->timer >= 0)
		close(t->timer);
	for (size_t i = 0; i < t->count; i++) {
		struct tree_host *h = &t->hosts[i];

		pssh_task_free(h->feed);
		free(h->key);
		free(h->address);
		free(h->dir);
		free(h->text);
	}
	free(t->hosts);
	free(t->nodes);
	free(t->block);
}

static void tree_tell(struct tree *t)
{
	const struct tree_host *one = NULL;
	size_t had = 0, direct = 0;
	char room[32];

	for (size_t i = 0; i < t->count; i++) {
		had += t->hosts[i].had;
		if (t->nodes[i].direct && t->hosts[i].landed) {
			direct++;
			one = one ? one : &t->hosts[i];
		}
	}
	fanout_quiet(t->f);
	if (direct)
		print_note(t->np, "%zu host%s got '%s' from here, because %s take it from another host: %s: %s", direct,
			direct == 1 ? "" : "s", t->order->from, direct == 1 ? "it cannot" : "they cannot", one->o->name,
			*one->why ? one->why : "they sent nothing for too long");
	if (had && !t->order->quiet)
		print_note(t->np, "%zu host%s had '%s' already", had, had == 1 ? "" : "s", t->order->from);
	if (!t->order->quiet && t->np->format == FORMAT_TEXT)
		print_note(t->np, "%s sent from here; hosts sent the rest to each other",
			progress_bytes(t->sent, room, sizeof room));
}

int tree_copy(struct fanout *f, const struct tree_order *order)
{
	struct tree t = { .np = f->np,
		.f = f,
		.order = order,
		.fd = -1,
		.timer = -1,
		.hash = { .pid = -1, .pipe = -1 } };
	int status = tree_open(&t);

	if (!status) {
		/* Hosts wait for each other, so all of them are connected at once. */
		pssh_set_window(f->connect->fleet, (unsigned)settings_int(f->np->settings, SETTING_ID_FANOUT), 0);
		tree_hosts(&t);
		f->make = tree_make;
		f->arg = &t;
		f->watch_fd = t.timer;
		f->others = true;
		status = fanout_start(f);
	}
	if (!status) {
		tree_loop(&t);
		tree_tell(&t);
	}
	f->watch_fd = -1;
	f->others = false;
	tree_close(&t);
	return status;
}
