// The providers around all screens. Style elements are switched off in Base UI: the content security policy
// forbids them.
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createQueryClient } from "@/api/queries";
import { router } from "./router";

const queries = createQueryClient();

export function App() {
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  );
}
