package control

// HelperName is the file name of the helper. Where that file is missing, codeagent starts itself
// under this name.
const HelperName = "linux-sandbox-helper"
