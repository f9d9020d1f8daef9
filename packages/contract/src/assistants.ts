/** The address of assistants, and the configuration of usual clients for it (12). */

export const MCP_PATH = '/mcp';

/** The configuration of a client. It has no token: the client reads it from elsewhere. */
interface ClientConfiguration {
  client: string;
  /** Where the text belongs. */
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
      place: '.mcp.json in the folder of a project; set LICET_TOKEN in the environment',
      text: json({
        mcpServers: { licet: { type: 'http', url, headers: bearer('${' + 'LICET_TOKEN}') } },
      }),
    },
    {
      client: 'Cursor',
      place: '~/.cursor/mcp.json, or .cursor/mcp.json; set LICET_TOKEN in the environment',
      text: json({ mcpServers: { licet: { url, headers: bearer('${' + 'env:LICET_TOKEN}') } } }),
    },
    {
      client: 'VS Code',
      place:
        '.vscode/mcp.json in the folder of a project; VS Code asks for the token, and keeps it',
      text: json({
        inputs: [
          {
            type: 'promptString',
            id: 'licet-token',
            description: 'Token of Licet',
            password: true,
          },
        ],
        servers: { licet: { type: 'http', url, headers: bearer('${' + 'input:licet-token}') } },
      }),
    },
    {
      client: 'Another client',
      place: 'its settings of remote servers over streamable HTTP',
      text: `${url}\nAuthorization: Bearer <the token>`,
    },
  ];
}
