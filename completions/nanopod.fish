# SPDX-License-Identifier: Apache-2.0
# fish completion for nanopod: asks the program, so it knows what the program knows.

function __nanopod_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l current (commandline -ct)
    for line in (nanopod complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $current
            case ':dirs'
                __fish_complete_directories $current
            case ':programs'
                complete -C "$current"
            case '*'
                echo $line
        end
    end
end

complete -c nanopod -f -a '(__nanopod_complete)'
