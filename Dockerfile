# docs/one-machine.md: how to run it.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/contract/package.json packages/contract/
COPY packages/client/package.json packages/client/
COPY packages/cli/package.json packages/cli/
COPY console/package.json console/
COPY scripts/trim.js scripts/
RUN npm ci --omit=dev --omit=peer
COPY . .
RUN node --single-threaded scripts/assets.ts

FROM node:24.21.0-bookworm-slim
WORKDIR /app
ENV PATH=/app/node_modules/.bin:$PATH
# Large blocks return to the system: 60 MB less.
ENV MALLOC_MMAP_THRESHOLD_=65536
COPY --from=build /app /app
RUN install -d -m 700 -o 1000 -g 1000 /data
# The service makes its root token where its data is.
RUN ln -s /data/.dev.vars .dev.vars
USER 1000:1000
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/api/v2/healthy').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node can hang when it exits while V8 compiles in another thread: --single-threaded.
ENTRYPOINT ["node", "--max-semi-space-size=1", "--optimize-for-size", "--single-threaded", "scripts/start.ts", "--ip", "0.0.0.0", "--persist-to", "/data"]
