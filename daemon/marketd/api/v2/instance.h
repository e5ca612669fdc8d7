/* SPDX-License-Identifier: Apache-2.0 */
/* What making an instance and replacing one share. */
#ifndef MARKETD_API_V2_INSTANCE_H
#define MARKETD_API_V2_INSTANCE_H

#include "marketd/api/api.h"

/* Of a request's body. false: refused, naming the field. */
bool v2_instance_image(const struct request *q, struct reply *r, uint64_t *image);
/* priority_level of this object: *priority stays if it is absent. */
bool v2_instance_priority(const struct request *q, struct reply *r, const json_t *body, int32_t *priority);

/* Base64 of the bytes. malloc'd; NULL: out of memory. */
char *base64_make(const void *data, size_t len);

/* Applies EVENT_INSTANCE with the tags of the body, and answers 201. */
int v2_instance_make(struct api *api, const struct request *q, struct reply *r, struct event *ev);

#endif
