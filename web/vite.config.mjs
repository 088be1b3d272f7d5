/** How the studio's page is built; `npx vite web` serves it while it is changed, beside a studio on port 8321. */
import { defineConfig } from "vite";

const studio = "http://127.0.0.1:8321";

export default defineConfig({
  // Wherever the page is mounted, it finds its files beside itself.
  base: "./",
  build: {
    outDir: "../dist/studio",
    emptyOutDir: true,
    target: "es2023",
    modulePreload: false,
    reportCompressedSize: false,
    // What is compiled into the page, with the texts that its licences ask for.
    license: { fileName: "LICENSES.md" },
  },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  server: { proxy: { "/api": studio, "/v1": studio } },
});
