/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/vendor_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int vendor_calls_load(const char *library, const struct vendor_call *list, size_t count, void *calls, void **loaded,
	struct fail *f)
{
	void *lib = *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return fail_set(f, -ENOENT, "'%s' cannot be loaded", library);
	for (size_t i = 0; i < count; i++) {
		void *found = dlsym(lib, list[i].name);

		if (!found)
			return fail_set(f, -ENOSYS, "'%s' has no '%s'", library, list[i].name);
		memcpy((char *)calls + list[i].at, &found, sizeof found);
	}
	return 0;
}
