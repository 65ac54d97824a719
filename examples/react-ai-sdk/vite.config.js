import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// In development the page is Vite's, and what it asks for is Adjourn's: start that with --origin http://localhost:5173
const adjourn = process.env.ADJOURN_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  base: "./",
  plugins: [react()],
  server: { port: 5173, strictPort: true, proxy: { "/ag-ui": adjourn, "/ai-sdk": adjourn } },
});
