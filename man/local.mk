# man: written by hand in mdoc(7). Every page that is there is shipped; tests/meta/man.t keeps them true.
pages3dir = $(mandir)/man3
dist_pages3_DATA = $(wildcard $(srcdir)/man/*.3)
if PROGRAMS
pages1dir = $(mandir)/man1
dist_pages1_DATA = $(wildcard $(srcdir)/man/*.1)
pages5dir = $(mandir)/man5
dist_pages5_DATA = $(wildcard $(srcdir)/man/*.5)
pages8dir = $(mandir)/man8
dist_pages8_DATA = $(wildcard $(srcdir)/man/*.8)
pages7dir = $(mandir)/man7
dist_pages7_DATA = $(wildcard $(srcdir)/man/*.7)
endif
