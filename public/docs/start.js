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

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  // Shows which intents open an operation.
  showExtensions: true,
  // No badge from a validator elsewhere.
  validatorUrl: null,
  plugins: [showLargeAnswersPlainly],
});
