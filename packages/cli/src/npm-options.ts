/**
 * Finds an option that npm took because the two dashes were forgotten, as in `npm run import FILE --dry-run`.
 * Otherwise the command would run without the option.
 *
 * @param names the command's options, without dashes
 * @returns the error message; undefined if npm took no option
 */
export function takenByNpm(names: readonly string[]): string | undefined {
  const taken = names.find((name) => {
    const value = process.env[`npm_config_${name.replaceAll('-', '_')}`];
    return value !== undefined && value !== '' && value !== 'false';
  });
  if (taken === undefined) return undefined;
  const { npm_lifecycle_event: script = '' } = process.env;
  const command = script === 'start' ? 'npm start' : `npm run ${script}`;
  return `npm took the option --${taken} itself. Put options after two dashes: ${command} -- … --${taken}`;
}
