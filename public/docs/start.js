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
    document.querySelector('#servers')?.setAttribute('aria-label', 'Servers');
    const token = sessionStorage.getItem(KEPT_TOKEN);
    if (token) page.preauthorizeApiKey('TOKEN', token);
  },
});
