FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: the native packages ship their binaries, and our own build needs the sources.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY libs libs
COPY src src
COPY scripts scripts
COPY test test
# The build also compiles the programs for this version of Node, and bundles most packages.
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY package.json LICENSE ./
COPY scripts/built.mjs scripts/
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist/dashboard dist/dashboard
COPY --from=build /app/dist/service dist/service
# The default list of the demo.
COPY test/data test/data
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The service listens on all addresses, so it needs AUTH=keys (docker run --env AUTH=keys), or AUTH=none as in
# docker-compose.yml.
CMD ["node", "dist/service/main.js"]
