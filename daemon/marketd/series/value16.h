/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measured number in 16 bits: 0, or 5e-7 to 8e12 within 0.05 %. That is finer than what sensors know, and half of
 * what a float takes.
 */
#ifndef MARKETD_SERIES_VALUE16_H
#define MARKETD_SERIES_VALUE16_H

#include <stdint.h>

enum { VALUE16_UNKNOWN = 0xffff };

/* What is below 0 becomes 0, what is too large the largest, NAN unknown. */
uint16_t value16_of(double v);
double value16_read(uint16_t code); /* NAN: unknown */

#endif
