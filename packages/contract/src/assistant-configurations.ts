/** The variable or the input that holds the token in a configuration: no configuration has the token itself. */
const VARIABLE = 'LICET_TOKEN';

/** The configuration of an assistant that reaches the service with a token (12). */
export interface AssistantConfiguration {
  /** The name of the assistant. */
  name: string;
  /** The place of the text: a file, or a terminal. */
  file: string;
  text: string;
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** The configurations to paste, for usual assistants. @param origin the address of the service for others (3.3) */
export function assistantConfigurations(origin: string): readonly AssistantConfiguration[] {
  const url = `${origin}/mcp`;
  const headers = (token: string) => ({ Authorization: `Bearer ${token}` });
  const input = { type: 'promptString', id: 'licet', description: VARIABLE, password: true };
  return [
    {
      name: 'Claude Code',
      file: '.mcp.json',
      text: json({
        mcpServers: { licet: { type: 'http', url, headers: headers(`\${${VARIABLE}}`) } },
      }),
    },
    {
      name: 'Cursor',
      file: '.cursor/mcp.json',
      text: json({ mcpServers: { licet: { url, headers: headers(`\${env:${VARIABLE}}`) } } }),
    },
    {
      name: 'VS Code',
      file: '.vscode/mcp.json',
      text: json({
        // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code fills it in
        servers: { licet: { type: 'http', url, headers: headers('${input:licet}') } },
        inputs: [input],
      }),
    },
    {
      name: 'Other',
      file: 'Streamable HTTP',
      text: `${url}\nAuthorization: Bearer ${VARIABLE}\n`,
    },
  ];
}
