/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 10000, REGISTERS = 128 };

struct ptx_thread {
	const char *body; /* of the entry, from its brace */
	const uint64_t *args;
	struct ptx_place at;
	uint64_t registers[REGISTERS]; /* by the letter after '%' */
};

/* "%a", "%ctaid.x", "[x2]", "[%t]" or a number. */
static uint64_t ptx_value(const struct ptx_thread *t, const char *word)
{
	word += *word == '[';
	if (*word == 'x')
		return t->args[(word[1] - '0') & 3];
	if (*word != '%')
		return strtoull(word, NULL, 0);
	if (strcmp(word, "%ctaid.x") == 0)
		return t->at.block;
	if (strcmp(word, "%nctaid.x") == 0)
		return t->at.blocks;
	if (strcmp(word, "%tid.x") == 0)
		return t->at.thread;
	if (strcmp(word, "%ntid.x") == 0)
		return t->at.threads;
	return t->registers[word[1] & (REGISTERS - 1)];
}

/* What an operation leads to; b: its last operand, 0 where it has one only. */
static bool ptx_compute(const char *op, uint64_t a, uint64_t b, uint64_t *out)
{
	if (strncmp(op, "mov.", 4) == 0 || strncmp(op, "cvt", 3) == 0 || strcmp(op, "ld.param.u64") == 0)
		*out = a;
	else if (strcmp(op, "ld.global.u64") == 0)
		memcpy(out, (const void *)(uintptr_t)a, sizeof *out);
	else if (strcmp(op, "add.u64") == 0)
		*out = a + b;
	else if (strcmp(op, "sub.u64") == 0)
		*out = a - b;
	else if (strcmp(op, "mul.lo.u64") == 0 || strcmp(op, "mul.wide.u32") == 0)
		*out = a * b;
	else if (strcmp(op, "xor.b64") == 0)
		*out = a ^ b;
	else if (strcmp(op, "shl.b64") == 0)
		*out = a << (b & 63);
	else if (strcmp(op, "shr.u64") == 0)
		*out = a >> (b & 63);
	else if (strcmp(op, "setp.ge.u64") == 0)
		*out = a >= b;
	else if (strcmp(op, "setp.eq.u64") == 0)
		*out = a == b;
	else
		return false;
	return true;
}

/* One step that neither jumps nor ends. */
static bool ptx_step(struct ptx_thread *t, const char *op, char words[3][24])
{
	uint64_t made = 0, a = ptx_value(t, words[1]), b = ptx_value(t, words[2]);

	if (strcmp(op, "st.global.u64") == 0) {
		memcpy((void *)(uintptr_t)ptx_value(t, words[0]), &a, sizeof a);
		return true;
	}
	if (strcmp(op, "atom.global.add.u64") == 0) {
		memcpy(&made, (const void *)(uintptr_t)a, sizeof made);
		b += made;
		memcpy((void *)(uintptr_t)a, &b, sizeof b);
	} else if (!ptx_compute(op, a, b, &made)) {
		return false;
	}
	t->registers[words[0][1] & (REGISTERS - 1)] = made;
	return true;
}

/* Where "NAME: " of this entry is. */
static const char *ptx_label(const struct ptx_thread *t, char name)
{
	const char mark[] = { '\n', name, ':', ' ', '\0' }, *found = strstr(t->body, mark);

	return found ? found + strlen(mark) : NULL;
}

bool fakeptx_run(const char *text, const char *entry, const uint64_t args[4], struct ptx_place at)
{
	struct ptx_thread t = { .args = args, .at = at };
	const char *next;
	char name[64];

	snprintf(name, sizeof name, ".visible .entry %s(", entry);
	next = strstr(text, name);
	next = t.body = next ? strchr(next, '{') : NULL;
	for (int i = 0; next && i < STEPS_MOST; i++) {
		char op[24] = "", words[3][24] = { "", "", "" };
		bool runs = true;

		next += strspn(next, "{\n ");
		if (*next && next[1] == ':')
			next += 3;
		if (*next == '@') {
			runs = t.registers[next[2] & (REGISTERS - 1)];
			next += 4;
		}
		if (sscanf(next, "%23[^ ;] %23[^],;]%*[], ]%23[^],;]%*[], ]%23[^],;]", op, words[0], words[1],
			    words[2]) < 1)
			return false;
		next = strchr(next, ';');
		next += next != NULL;
		if (!runs || strcmp(op, ".reg") == 0)
			continue;
		if (strcmp(op, "ret") == 0)
			return true;
		if (strcmp(op, "bra") == 0)
			next = ptx_label(&t, *words[0]);
		else if (!ptx_step(&t, op, words))
			return false;
	}
	return false;
}
