SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  // Shows which intents open an operation.
  showExtensions: true,
  // No badge from a validator elsewhere.
  validatorUrl: null,
});
