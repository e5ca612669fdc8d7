# tests/real: whole jobs on real machines, run by hand.
EXTRA_DIST += tests/real/vfio.sh tests/real/vfio-inside.sh
EXTRA_PROGRAMS += tests/real/vfiostep
tests_real_vfiostep_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_real_vfiostep_LDADD = libagent.la libdrivervm.la libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_real_vfiostep_LDFLAGS = -no-install

# GPUs in virtual machines against a real kernel's VFIO: NANOPOD_TEST_IMAGES=DIR make meet-vfio, as root.
meet-vfio: tests/real/vfiostep
	$(BASH) $(srcdir)/tests/real/vfio.sh '$(abs_top_builddir)/tests/real/vfiostep'
.PHONY: meet-vfio
