/** As many characters as a browser colours in a moment; over megabytes it would take minutes. */
const MAX_COLOURED = 100_000;

const showLargeAnswersPlainly = () => ({
  wrapComponents: {
    SyntaxHighlighter:
      (Highlighter, { React, getComponent }) =>
      (properties) => {
        const isLarge = properties.children?.length > MAX_COLOURED;
        const Viewer = isLarge ? getComponent('PlainTextViewer') : Highlighter;
        return React.createElement(Viewer, properties);
      },
  },
});

const KEPT_TOKEN = 'licet-token';

/** Keeps the token until the tab is closed, in this tab alone. */
const keepToken = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (authorize) => (schemes) => {
          if (schemes.TOKEN) sessionStorage.setItem(KEPT_TOKEN, schemes.TOKEN.value);
          return authorize(schemes);
        },
        logout: (logout) => (names) => {
          sessionStorage.removeItem(KEPT_TOKEN);
          return logout(names);
        },
      },
    },
  },
});

const dark = matchMedia('(prefers-color-scheme: dark)');
const followTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followTheme);
followTheme();

/** Names the parts that Swagger UI leaves without a name or landmark, and keeps the order of headings. */
function nameParts() {
  const attributes = [
    ['#servers', 'aria-label', 'Servers'],
    ['.information-container section', 'aria-label', 'About'],
    ['.scheme-container > section', 'aria-label', 'Server and token'],
    ['section.models', 'aria-label', 'Schemas'],
    ['.opblock-tag, section.models > h4', 'aria-level', '2'],
  ];
  for (const [selector, name, value] of attributes) {
    for (const part of document.querySelectorAll(selector)) part.setAttribute(name, value);
  }
}

const page = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  // Shows which intents open an operation.
  showExtensions: true,
  // No badge from a validator elsewhere.
  validatorUrl: null,
  plugins: [showLargeAnswersPlainly, keepToken],
  onComplete: () => {
    nameParts();
    const token = sessionStorage.getItem(KEPT_TOKEN);
    if (token) page.preauthorizeApiKey('TOKEN', token);
  },
});
