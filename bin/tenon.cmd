@echo off
rem Starts Tenon with the first Python there is: the launcher, python3, python.
py -3 -c "" >nul 2>nul
if not errorlevel 1 goto launcher
python3 -c "" >nul 2>nul
if not errorlevel 1 goto python3
python -c "" >nul 2>nul
if not errorlevel 1 goto python
echo tenon: needs Python 3.9 or newer; install it from python.org and try again 1>&2
exit /b 1
:launcher
py -3 -I -S "%~dp0tenon" %*
exit /b %errorlevel%
:python3
python3 -I -S "%~dp0tenon" %*
exit /b %errorlevel%
:python
python -I -S "%~dp0tenon" %*
exit /b %errorlevel%
