import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { consoleLink } from '../console-link.ts';
import { isLocal } from '../root-token.ts';
import { CliError } from '../terminal.ts';
import { examples } from './output.ts';
import type { OpenSession } from './session.ts';

/** `licet console`: print a link that logs in to the console. */
export function addConsole(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('console')
    .description('print a link that logs in to the console, once and within 5 minutes')
    .addHelpText(
      'after',
      `
It needs the root token, whose rights the link gives. With another token, log in on the page itself.
${examples('console', '--url https://licet.example console')}`,
    )
    .action(async () => {
      const { licet, output, url, token, tokenSource } = open();
      const { id, name } = await licet.tokens.self();
      const address = await licet.address();
      const service = address.isPublic ? new URL(address.url) : url;
      if (id !== null) {
        // The console's name on this machine comes from the root token.
        const page = isLocal(service)
          ? 'the page that such a link opens'
          : new URL('/console', service).href;
        throw new CliError(
          `The token of ${tokenSource} is "${name}", and a link needs the root token. ` +
            `Log in with that token on ${page}.`,
        );
      }
      const link = await consoleLink(service, token);
      output.done('Open this link within 5 minutes. It works once:', { link }, link);
      output.warnUnlessPublic(address);
      // The public one needs the proxy, which may be down.
      if (address.isPublic && isLocal(url)) {
        output.note(`In a browser on this machine, also: ${await consoleLink(url, token)}`);
      }
    });
}
