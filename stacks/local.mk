# stacks: what `nanopod provision` installs on nodes, as data and shell. stacks/common is for all; each other folder
# is a stack, with its stack.yaml, a script a step, and what those write. A file is found by its ending: none is listed
# here.
stacks_endings = yaml sh inc json rules conf md
nobase_dist_pkgdata_DATA = $(foreach ending,$(stacks_endings),\
	$(wildcard $(srcdir)/stacks/*/*.$(ending) $(srcdir)/stacks/*/*/*.$(ending)))
