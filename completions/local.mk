# completions: one script a shell; each asks `nanopod complete`. The program carries them too.
# The names are those that the shells look for.
bashcompletiondir = $(bashcompdir)
zshcompletiondir = $(zshcompdir)
fishcompletiondir = $(fishcompdir)
dist_bashcompletion_DATA = completions/nanopod.bash
dist_zshcompletion_DATA = completions/_nanopod
dist_fishcompletion_DATA = completions/nanopod.fish
