/** The canonical transition, as scripts/types makes it from the project's JSON Schemas. Not to be edited. */

export type Transition = {
  /** RFC 7396 merge patch of the state, whose schema is the task's. */
  state_patch: {
    [key: string]: unknown;
  };
  action:
    | {
        tool: "read_files";
        args: {
          files: Array<{
            path: string;
            from?: number;
            to?: number;
            at?: number;
          }>;
        };
      }
    | {
        tool: "list_files";
        args: {
          path?: string;
          depth?: number;
          glob?: string;
        };
      }
    | {
        tool: "search";
        args: {
          pattern: string;
          paths?: Array<string>;
          regex?: boolean;
          ignore_case?: boolean;
        };
      }
    | {
        tool: "recall";
        args: {
          query: string;
          kinds?: Array<"state" | "action" | "output" | "decision">;
          limit?: number;
        };
      }
    | {
        tool: "edit_files";
        args: {
          edits: Array<
            | {
                op: "replace";
                path: string;
                old: string;
                new: string;
                count?: number;
              }
            | {
                op: "write";
                path: string;
                content: string;
              }
            | {
                op: "delete";
                path: string;
              }
            | {
                op: "copy";
                path: string;
                source: string;
                from?: number;
                to?: number;
                move?: boolean;
              }
            | {
                op: "replace_all";
                glob: string;
                old: string;
                new: string;
                expect: number;
              }>;
        };
      }
    | {
        tool: "apply_patch";
        args: {
          patch: string;
        };
      }
    | {
        tool: "batch";
        args: {
          actions: Array<{
            tool: "edit_files" | "apply_patch" | "run" | "read_files" | "list_files" | "search" | "recall";
            args: {
              [key: string]: unknown;
            };
          }>;
        };
      }
    | {
        tool: "run";
        args: {
          command: string;
          params?: {
            [key: string]: string;
          };
        };
      }
    | {
        tool: "ask";
        args: {
          question: string;
          options?: Array<string>;
        };
      }
    | {
        tool: "request_change";
        args: {
          at: string;
          value?: string;
          why: string;
          source?: string;
        };
      }
    | {
        tool: "wait";
        args: {
          authority: string;
          is?: Array<string>;
          until?: string;
        };
      }
    | {
        tool: "finish";
        args: {
          summary: string;
        };
      }
    | {
        tool: "git_push";
        args: {};
      }
    | {
        tool: "git_pull";
        args: {};
      }
    | {
        tool: "pr_open";
        args: {
          title: string;
          body: string;
          draft?: boolean;
        };
      }
    | {
        tool: "pr_update";
        args: {
          title?: string;
          body?: string;
        };
      }
    | {
        tool: "pr_merge";
        args: {};
      }
    | {
        tool: "pr_comment";
        args: {
          body: string;
        };
      }
    | {
        tool: "issue_comment";
        args: {
          issue: number;
          body: string;
        };
      }
    | {
        tool: "ci_rerun";
        args: {
          why: string;
        };
      };
};
