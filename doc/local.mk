# doc: guides for people, with pictures that are drawn from real runs and from the tables themselves.
guides = doc/renting.md doc/fleets.md doc/clusters.md doc/selling.md doc/market.md doc/performance.md
pictures = doc/terminal.svg doc/run.svg doc/languages.svg
guidesdir = $(docdir)/doc
dist_guides_DATA = $(guides) $(pictures)
EXTRA_DIST += doc/data/languages.tsv doc/data/run.tsv doc/draw-charts doc/draw-terminal doc/terminal.session

# By hand (Debian: python3-pyte): the terminal of README.md, from a real run on a market of its own.
pictures: all
	home=$$(mktemp -d) && cd $(srcdir) && export HOME="$$home" NANOPOD_LIBEXEC='$(abs_top_builddir)' \
		PATH='$(abs_top_builddir)':"$$PATH" && \
	doc/draw-terminal 100 <doc/terminal.session >doc/terminal.svg.new && mv doc/terminal.svg.new doc/terminal.svg; \
	result=$$?; nanopod local reset -y; rm -rf "$$home" doc/terminal.svg.new; exit $$result
.PHONY: pictures

# By hand (Debian: gnuplot-nox): tables and charts of doc/performance.md, from what benches left in doc/data.
charts:
	$(SHELL) $(srcdir)/doc/draw-charts
.PHONY: charts
