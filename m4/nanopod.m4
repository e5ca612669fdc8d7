# SPDX-License-Identifier: Apache-2.0
# The checks of our own: language, warnings, the two kinds of build, the version map.

# NP_TRY_FLAG(VARIABLE, FLAG): appends FLAG to VARIABLE where compiler and linker take it silently.
AC_DEFUN([NP_TRY_FLAG], [
	AS_VAR_PUSHDEF([np_cache], [np_cv_flag_$2])
	AC_CACHE_CHECK([whether $CC takes $2], [np_cache], [
		np_cflags=$CFLAGS
		CFLAGS="$CFLAGS -Werror $2"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
			[AS_VAR_SET([np_cache], [yes])], [AS_VAR_SET([np_cache], [no])])
		CFLAGS=$np_cflags
	])
	AS_VAR_IF([np_cache], [yes], [$1="$$1 $2"])
	AS_VAR_POPDEF([np_cache])
])

AC_DEFUN([NP_TRY_FLAGS], [m4_foreach_w([np_flag], [$2], [NP_TRY_FLAG([$1], m4_defn([np_flag]))])])

# autoconf only goes as far as C11; compilers default to C17 since gcc 8 and clang 11.
AC_DEFUN([NP_STD_C17], [
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201710L
#error older than C17
#endif
	]], [])], [], [CC="$CC -std=gnu17"])
])

AC_DEFUN([NP_WARNING_FLAGS], [
	NP_CFLAGS= NP_CPPFLAGS= NP_LDFLAGS= PIE_LDFLAGS=
	NP_TRY_FLAGS([NP_CFLAGS], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
		-Wold-style-definition -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings -Wvla
		-fvisibility=hidden -fno-semantic-interposition])
	AC_SUBST([NP_CFLAGS])
	AC_SUBST([NP_CPPFLAGS])
	AC_SUBST([NP_LDFLAGS])
	AC_SUBST([PIE_LDFLAGS])
])

AC_DEFUN([NP_DEV_FLAGS], [
	NP_TRY_FLAGS([NP_CFLAGS], [-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer])
	NP_CFLAGS="$NP_CFLAGS -Werror"
	AS_CASE([" $NP_CFLAGS "], [*-fsanitize=*], [],
		[AC_MSG_ERROR([--enable-dev needs a compiler with the address and undefined behaviour sanitizers])])
	# -O2 as usual would hide too much from the sanitizers; what the user asks for wins.
	AS_IF([test "$CFLAGS" = "-g -O2"], [CFLAGS="-g -O1"])
])

AC_DEFUN([NP_RELEASE_FLAGS], [
	NP_CPPFLAGS="-DNDEBUG"
	# glibc's checks need the optimizer, and Debian's own flags may have asked for them already.
	AS_CASE([" $CPPFLAGS $CFLAGS "], [*-D_FORTIFY_SOURCE*], [],
		[*\ -O0\ *], [], [*\ -O*], [NP_CPPFLAGS="$NP_CPPFLAGS -D_FORTIFY_SOURCE=2"])
	NP_TRY_FLAGS([NP_CFLAGS], [-fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE])
	NP_TRY_FLAGS([NP_LDFLAGS], [-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed])
	NP_TRY_FLAGS([PIE_LDFLAGS], [-pie])
])

AC_DEFUN([NP_VERSION_SCRIPT], [
	AC_CACHE_CHECK([whether the linker takes a version map], [np_cv_version_script], [
		echo 'NP_1 { global: main; local: *; };' >conftest.map
		np_ldflags=$LDFLAGS
		LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [np_cv_version_script=yes], [np_cv_version_script=no])
		LDFLAGS=$np_ldflags
		rm -f conftest.map
	])
	AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "$np_cv_version_script" = yes])
	np_nodelete=
	NP_TRY_FLAG([np_nodelete], [-Wl,-z,nodelete])
	AM_CONDITIONAL([HAVE_NODELETE], [test -n "$np_nodelete"])
])
