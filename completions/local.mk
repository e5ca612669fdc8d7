# completions: one script a shell; each asks `nanopod complete`. The program carries them too.
# The names are those that the shells look for.
bashcompletiondir = $(bashcompdir)
zshcompletiondir = $(zshcompdir)
fishcompletiondir = $(fishcompdir)
dist_bashcompletion_DATA = completions/nanopod.bash
dist_zshcompletion_DATA = completions/_nanopod
dist_fishcompletion_DATA = completions/nanopod.fish

BUILT_SOURCES += completions/scripts.h
CLEANFILES += completions/scripts.h
completions/scripts.h: $(dist_bashcompletion_DATA) $(dist_zshcompletion_DATA) $(dist_fishcompletion_DATA)
	@$(MKDIR_P) completions
	$(AM_V_GEN)for shell in bash:nanopod.bash zsh:_nanopod fish:nanopod.fish; do \
		echo "static const char script_$${shell%%:*}[] ="; \
		sed 's/[\\"]/\\&/g; s/.*/	"&\\n"/' $(srcdir)/completions/$${shell#*:}; \
		echo '	;'; \
	done >$@.new && mv $@.new $@
