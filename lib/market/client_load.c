/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libcurl with the first request instead of linking it: it brings some thirty libraries, whose
 * loading takes 4.5 ms of CPU (measured, of 5.2 for an empty main()), and `nanopod --version`, help,
 * completion and `run -w` need none of it. Once loaded, it stays.
 */
#include <dlfcn.h>
#include <string.h>

#include "market/client.h"
#include "market/curl_calls.h"

/* The same interface, built against different TLS libraries. */
static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4" };

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
#define CALL(name) { "curl_" #name, offsetof(struct curl_calls, name) }
	CALL(global_init),
	CALL(easy_init),
	CALL(easy_cleanup),
	CALL(easy_reset),
	CALL(easy_setopt),
	CALL(easy_getinfo),
	CALL(easy_pause),
	CALL(easy_strerror),
	CALL(multi_init),
	CALL(multi_cleanup),
	CALL(multi_add_handle),
	CALL(multi_remove_handle),
	CALL(multi_perform),
	CALL(multi_poll),
	CALL(multi_info_read),
	CALL(multi_setopt),
	CALL(multi_assign),
	CALL(multi_socket_action),
	CALL(slist_append),
	CALL(slist_free_all),
#undef CALL
};

int client_load(struct curl_calls *out, struct fail *f)
{
	struct curl_calls found = { 0 };
	void *library = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail_set(f, CLIENT_NO_HTTP,
			"libcurl is not installed; install it with 'sudo apt install libcurl4'");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *call = dlsym(library, wanted[i].name);

		if (!call)
			return fail_set(f, CLIENT_NO_HTTP, "libcurl is too old: it has no '%s'", wanted[i].name);
		memcpy((char *)&found + wanted[i].at, &call, sizeof call);
	}
	if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return fail_set(f, CLIENT_NO_HTTP, "cannot start libcurl");
	*out = found;
	return 0;
}
