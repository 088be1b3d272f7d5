{
  "targets": [
    {
      "target_name": "seekrl",
      "type": "none",
      "actions": [
        {
          "action_name": "cmake_js",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["build/gyp-always-runs"],
          "action": ["node", "scripts/setup/install.mjs"]
        }
      ]
    }
  ]
}
