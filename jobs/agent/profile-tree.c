// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent's side of a profile: what all tasks of a case left, as one tree of
 * callers, and its events.
 */
#include "profile.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES_MAX 65536
#define LINE_FULL (FL_EVENT_MAX - 256)

struct node {
	int parent, child, next; /* -1: none */
	uint32_t address, count;
};

struct tree {
	struct node node[NODES_MAX];
	int n, roots;
	uint64_t samples, user, lost;
};

static uint32_t relative(uint64_t address)
{
	uint64_t v = address - FL_PROFILE_BASE;

	return v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* What was hit and where callers go on are different nodes. -1: full. */
static int step(struct tree *t, int parent, uint64_t address, bool hit)
{
	int *list = parent < 0 ? &t->roots : &t->node[parent].child, i;
	uint32_t a = relative(address);

	for (i = *list; i >= 0; i = t->node[i].next)
		if (t->node[i].address == a && !!t->node[i].count == hit)
			return i;
	if (t->n == NODES_MAX)
		return -1;
	i = t->n++;
	t->node[i] = (struct node){
		.parent = parent, .child = -1, .next = *list, .address = a
	};
	*list = i;
	return i;
}

/* chain: context marks, what was hit, then its callers. */
static void add_sample(struct tree *t, bool user, const uint64_t *chain,
		       uint64_t n)
{
	uint64_t first = 0;
	int at = -1;

	if (user) {
		t->samples++;
		t->user++;
		return;
	}
	while (first < n && chain[first] >= (uint64_t)PERF_CONTEXT_MAX)
		first++;
	for (uint64_t i = n; i > first; i--) {
		if (chain[i - 1] >= (uint64_t)PERF_CONTEXT_MAX)
			continue;
		at = step(t, at, chain[i - 1], i - 1 == first);
		if (at < 0)
			break;
	}
	if (at < 0) {
		t->lost++;
		return;
	}
	t->samples++;
	t->node[at].count++;
}

static void add_records(struct tree *t, const char *p, size_t n)
{
	while (n >= sizeof(struct perf_event_header)) {
		const struct perf_event_header *h = (const void *)p;
		const uint64_t *body = (const uint64_t *)(h + 1);
		size_t words = h->size / 8;

		if (h->size < sizeof(*h) || h->size > n)
			return;
		/* ip, number of links, links */
		if (h->type == PERF_RECORD_SAMPLE && words >= 3 &&
		    body[1] <= words - 3)
			add_sample(t,
				   (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
					   PERF_RECORD_MISC_USER,
				   body + 2, body[1]);
		p += h->size;
		n -= h->size;
	}
}

static bool add_task(struct tree *t, unsigned index, uint64_t period_ns)
{
	char path[32];
	struct stat st;
	struct fl_profile_head *head;
	uint64_t before = t->samples + t->lost, seen;
	int fd;

	fl_profile_file(path, index);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	head = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (head == MAP_FAILED)
		return false;
	add_records(t, (const char *)(head + 1),
		    (size_t)st.st_size - sizeof(*head));
	seen = t->samples + t->lost - before;
	if (head->full && head->ran_ns / period_ns > seen)
		t->lost += head->ran_ns / period_ns - seen;
	munmap(head, (size_t)st.st_size);
	return true;
}

static void send_tree(const struct tree *t, const struct fl_plan_case *c)
{
	static struct fl_line l;
	int i = 0;

	do {
		fl_report_begin(&l, "profile");
		fl_report_str(&l, "case", c->name);
		fl_report_raw(&l,
			      ",\"period_ns\":%llu,\"samples\":%llu,"
			      "\"user\":%llu,\"lost\":%llu,\"first\":%d,"
			      "\"nodes\":[",
			      (unsigned long long)fl_profile_ns,
			      (unsigned long long)t->samples,
			      (unsigned long long)t->user,
			      (unsigned long long)t->lost, i);
		for (bool more = false; i < t->n && l.len < LINE_FULL;
		     i++, more = true)
			fl_report_raw(&l, "%s[%d,%u,%u]", more ? "," : "",
				      t->node[i].parent, t->node[i].address,
				      t->node[i].count);
		fl_report_raw(&l, "]");
		fl_report_send(&l);
	} while (i < t->n);
}

bool fl_profile_report(const struct fl_plan_case *c)
{
	struct tree *t = calloc(1, sizeof(*t));
	bool ok = t != NULL;

	if (ok)
		t->roots = -1;
	for (unsigned i = 0; ok && i < c->nr_task; i++)
		ok = add_task(t, i, fl_profile_ns);
	if (ok)
		send_tree(t, c);
	free(t);
	return ok;
}
