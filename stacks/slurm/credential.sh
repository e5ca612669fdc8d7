# SPDX-License-Identifier: Apache-2.0
# Good for five minutes, and for whoever has the key: what a clock or a key that differs shows.

apply() { munge -n | np_give credential; }
