/** The address of assistants, and the configuration of usual clients for it (12). */

export const MCP_PATH = '/mcp';

/**
 * The environment variable that clients take the token from. Not LICET_TOKEN: the command line takes it for the token of an
 * administrator, who would hand that to the assistant.
 */
const TOKEN_VARIABLE = 'LICET_ASSISTANT_TOKEN';

/** The configuration of a client. It has no token: the client reads it from elsewhere. */
interface ClientConfiguration {
  client: string;
  /** Where the text belongs, and where the token. */
  place: string;
  text: string;
}

const json = (value: object): string => JSON.stringify(value, null, 2);

/** The configurations of clients for a service. @param origin the address of the service for others */
export function clientConfigurations(origin: string): readonly ClientConfiguration[] {
  const url = new URL(MCP_PATH, origin).href;
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  return [
    {
      client: 'Claude Code',
      place: `.mcp.json in the folder where you start it; the token in the environment, as ${TOKEN_VARIABLE}`,
      text: json({
        mcpServers: { licet: { type: 'http', url, headers: bearer(`\${${TOKEN_VARIABLE}}`) } },
      }),
    },
    {
      client: 'Cursor',
      place: `.cursor/mcp.json in your home or a project; the token in the environment, as ${TOKEN_VARIABLE}`,
      text: json({ mcpServers: { licet: { url, headers: bearer(`\${env:${TOKEN_VARIABLE}}`) } } }),
    },
    {
      client: 'VS Code',
      place: '.vscode/mcp.json in a project: VS Code asks for the token once, and keeps it',
      text: json({
        inputs: [
          {
            type: 'promptString',
            id: 'licet-token',
            description: 'Token of Licet for the assistant',
            password: true,
          },
        ],
        servers: { licet: { type: 'http', url, headers: bearer('${' + 'input:licet-token}') } },
      }),
    },
    {
      client: 'Another client',
      place: 'a remote server over streamable HTTP, with this address and header',
      text: `${url}\nAuthorization: Bearer <the token>`,
    },
  ];
}
