from wenmai.cli.commands import main

main()
