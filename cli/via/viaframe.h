/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod run --via` and its helper on a gateway say to each other: frames of a length, a type, a number (a
 * host's or an agent connection's) and bytes. Most carry words, each ended by a NUL.
 */
#ifndef CLI_VIA_VIAFRAME_H
#define CLI_VIA_VIAFRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { VIA_PROTOCOL = 1, VIA_FRAME_MAX = 4 << 20, VIA_WORDS = 64 };

/* Each line of the gateway's shell and the helper's first begins so; after "ready" there are frames only. */
#define VIA_GREETING "nanopod-via "

/* X(name, letter). To the gateway: capitals; back: small letters; agent: both ways. */
#define VIA_TYPES(X) \
	X(VIA_SETTING, 'S') /* key, value */ \
	X(VIA_COMMAND, 'C') /* the command */ \
	X(VIA_INPUT, 'I')   /* bytes: a script, the standard input on every host */ \
	X(VIA_HOST, 'H')    /* spec, address, port, user, lines of known hosts, pinned keys … */ \
	X(VIA_CANCEL, 'X')  /* signal, grace in ms */ \
	X(VIA_BEGUN, 'b')   /* the host's key */ \
	X(VIA_STDOUT, 'o')  /* how many bytes were dropped (8 bytes), data */ \
	X(VIA_STDERR, 'e') \
	X(VIA_EXIT, 'x')   /* status, cancelled */ \
	X(VIA_SIGNAL, 's') /* signal, cancelled */ \
	X(VIA_ERROR, 'r')  /* code, cancelled, address, fingerprint, sentence */ \
	X(VIA_AGENT_OPEN, 'n') \
	X(VIA_AGENT_DATA, 'd') /* bytes */ \
	X(VIA_AGENT_CLOSE, 'z')

enum via_type {
#define VIA_X(name, letter) name = letter,
	VIA_TYPES(VIA_X)
#undef VIA_X
};

struct via_frame {
	enum via_type type;
	uint32_t id;
	const char *data; /* points into what was read */
	size_t len;
};

/* 0, -ENOMEM, or -EFBIG. */
int viaframe_add(struct buf *out, enum via_type type, uint32_t id, const void *data, size_t len);
int viaframe_add_words(struct buf *out, enum via_type type, uint32_t id, const char *const *words, size_t count);
int viaframe_add_data(struct buf *out, enum via_type type, uint32_t id, uint64_t dropped, const void *data, size_t len);

/* 1: *out is the frame at data, *used bytes long; 0: it is not whole yet; -EPROTO: it is none. */
int viaframe_next(const char *data, size_t len, size_t *used, struct via_frame *out);

/* Splits it; how many, or -EPROTO where it has others than `least` to `most` words. most: up to VIA_WORDS. */
int viaframe_words(const struct via_frame *f, const char **words, size_t least, size_t most);

/* What a host's result says. -EPROTO: it says nothing that can be true. */
struct via_result {
	int status; /* of EXIT: its status; of ERROR: a PSSH_E… code */
	int cancelled;
	uint64_t dropped;
	const char *data; /* of STDOUT and STDERR */
	size_t len;
	const char *text;                  /* BEGUN: the key; SIGNAL: its name; ERROR: the sentence */
	const char *address, *fingerprint; /* of ERROR */
};
int viaframe_result(const struct via_frame *f, struct via_result *out);

#endif
