import { resolve } from 'node:path';
import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { isInstalled } from '../invocation.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The call of `licet` in every folder. */
const CALL = isInstalled
  ? 'licet'
  : `npm --prefix ${quoted(resolve(import.meta.dirname, '../../../..'))} run -s licet --`;

const FUNCTION = isInstalled ? '' : `licet() { ${CALL} "$@"; }\n`;

interface Node {
  /** The names up to this command: ` licenses list`, empty for the program. */
  names: string;
  command: CommandUnknownOpts;
}

const nodesOf = (command: CommandUnknownOpts, names = ''): Node[] => [
  { names, command },
  ...command.commands.flatMap((each) => nodesOf(each, `${names} ${each.name()}`)),
];

/** Branches of a shell's `case` that set the words to choose from. */
const branch = (pattern: string, words: readonly string[]): string =>
  `    ${quoted(pattern)}) choices=${quoted(words.join(' '))} ;;`;

/** A script for bash. zsh runs it too, after `bashcompinit`. After one of `others`, the shell completes files. */
function scriptOf(program: CommandUnknownOpts, others: readonly string[]): string {
  // After `help` comes the name of another command.
  const nodes = nodesOf(program).filter(({ names }) => names !== ' help');
  const namesOf = (command: CommandUnknownOpts) =>
    command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
  const ours = nodes.filter(({ command }) => !others.includes(command.name()));
  const words = ours.map(({ names, command }) =>
    branch(names, [
      ...command.commands.map((each) => each.name()),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
      ...new Set([...namesOf(command), ...namesOf(program), '--help']),
    ]),
  );
  const values = nodes.flatMap(({ names, command }) =>
    command.options.flatMap(({ long, argChoices }) =>
      argChoices ? [branch(`${names} ${long}`, argChoices)] : [],
    ),
  );
  const known = nodes.slice(1).map(({ names }) => quoted(names));
  return `${FUNCTION}_licet() {
  local word command='' choices=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$command $word" in
      ${known.join('|')}) command="$command $word" ;;
    esac
  done
  case "$command" in
${words.join('\n')}
  esac
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _licet licet`;
}

/**
 * `licet completion`: prints a script for a shell.
 *
 * @param others the commands whose options are not known
 */
export function addCompletion(program: CommandUnknownOpts, others: readonly string[]): void {
  program
    .command('completion')
    .description(
      isInstalled
        ? 'print a script that completes the arguments of licet in a shell'
        : 'print a script that defines the command licet in a shell, and completes its arguments',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh']))
    .addHelpText(
      'after',
      `
Put one of these into ~/.bashrc or ~/.zshrc:
  eval "$(${CALL} completion bash)"
  eval "$(${CALL} completion zsh)"`,
    )
    .action((shell) => {
      if (shell === 'zsh') {
        console.log('(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }');
        console.log('autoload -Uz bashcompinit && bashcompinit');
      }
      console.log(scriptOf(program, others));
    });
}
