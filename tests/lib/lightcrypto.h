/* SPDX-License-Identifier: Apache-2.0 */
/* Shortcuts in lightsshd's half of the cryptography. */
#ifndef LIGHTCRYPTO_H
#define LIGHTCRYPTO_H

#include <stdbool.h>

void lightcrypto_fast(void);
void lightcrypto_release(void);

#endif
