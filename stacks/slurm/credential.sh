# SPDX-License-Identifier: Apache-2.0
# A credential is valid for five minutes and for the same key, so it reveals a wrong clock or key.

apply() { munge -n | np_give credential; }
