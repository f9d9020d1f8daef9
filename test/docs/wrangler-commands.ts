import { experimental_getWranglerCommands } from 'wrangler';

const { registry, globalFlags } = experimental_getWranglerCommands();

/**
 * Finds the part of a command that the pinned wrangler would not understand.
 *
 * @returns undefined where it knows the command, its options and how many arguments it takes
 */
export function misunderstanding(args: readonly string[]): string | undefined {
  let node = registry.subtree.get(args[0] ?? '');
  let depth = 1;
  for (; node?.subtree.has(args[depth] ?? ''); depth++) node = node.subtree.get(args[depth] ?? '');
  const definition = node?.definition;
  if (definition?.type !== 'command') return `${args.join(' ')} is no command`;
  const known: Record<string, { type?: string }> = { ...globalFlags, ...definition.args };
  const positions = definition.positionalArgs ?? [];
  const rest = args.slice(depth);
  let position = 0;
  for (let index = 0; index < rest.length; index++) {
    const arg = rest[index] ?? '';
    if (!arg.startsWith('--')) {
      if (position++ >= positions.length) return `${arg} is one argument too many`;
      continue;
    }
    const [name = '', value] = arg.slice(2).split('=');
    const option = known[name];
    if (option === undefined) return `--${name} is no option of ${args.slice(0, depth).join(' ')}`;
    if (option.type !== 'boolean' && value === undefined) index++;
  }
  const missing = positions.find((name, index) => {
    return index >= position && definition.args?.[name]?.demandOption === true;
  });
  return missing && `${missing} is missing`;
}
